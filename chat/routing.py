from django.urls import path

from chat.consumers import PageConsumer

websocket_urlpatterns = [path("ws/", PageConsumer.as_asgi())]
