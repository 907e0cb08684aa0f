from django.urls import include, path

from chat import forgetting_views, search_views, views
from chat.inspecting import views as inspecting

urlpatterns = [
    path("", views.home, name="home"),
    path("ask/", views.ask, name="ask"),
    path("c/", views.conversations, name="conversations"),
    path("c/<int:pk>/", views.conversation, name="conversation"),
    path("c/<int:pk>/rename/", views.rename, name="rename"),
    path("c/<int:pk>/delete/", views.delete, name="delete"),
    path("c/<int:pk>/version/", views.show_version, name="show-version"),
    path("c/<int:conversation>/turns/<int:pk>/", inspecting.turn, name="turn"),
    path("messages/<int:pk>/delete/", forgetting_views.delete_message, name="delete-message"),
    path("runs/<int:pk>/stop/", views.stop, name="stop"),
    path("runs/<int:run>/sources/<int:number>/", views.source, name="source"),
    path("runs/<int:run>/working/", views.working, name="working"),
    path("library/<int:pk>", views.document, name="document"),
    path("search/", search_views.search, name="search"),
    path("sidebar/", views.sidebar, name="sidebar"),
    path("", include("chat.accounts.urls")),
    path("check/", views.check, name="check"),
    path("healthz", views.healthz, name="healthz"),
    path("metrics", views.metrics, name="metrics"),
    path("readyz", views.readyz, name="readyz"),
]
