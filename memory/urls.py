from django.urls import path

from memory import views

urlpatterns = [
    path("", views.index, name="memory"),
    path("new/", views.new, name="memory-new"),
    path("forget/", views.forget_all, name="memory-forget-all"),
    path("summaries/<int:pk>/retry/", views.retry, name="memory-retry"),
    path("proposals/<int:pk>/", views.decide, name="memory-decide"),
    path("<int:pk>/", views.file, name="memory-file"),
    path("<int:pk>/edit/", views.edit, name="memory-edit"),
    path("<int:pk>/undo/", views.undo, name="memory-undo"),
    path("<int:pk>/restore/", views.restore, name="memory-restore"),
    path("<int:pk>/delete/", views.delete, name="memory-delete"),
]
