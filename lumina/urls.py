from django.contrib import admin
from django.urls import include, path

from chat.accounts.urls import admin_urlpatterns

urlpatterns = [
    path("admin/", include(admin_urlpatterns)),
    path("admin/", admin.site.urls),
    path("memory/", include("memory.urls")),
    path("", include("chat.urls")),
]

handler500 = "lumina.faults.fault"
