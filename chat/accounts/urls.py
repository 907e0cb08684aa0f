from django.urls import path
from django.views.generic import RedirectView

from chat.accounts import account_views, people_views, settings_views, views

urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("sign-in/<str:token>/", views.sign_in_by_link, name="sign-in-by-link"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("sign-up/", views.sign_up, name="sign-up"),
    path("invited/<str:token>/", views.invited, name="invited"),
    path("reset/", views.reset, name="reset"),
    path("reset/<str:token>/", views.reset_by_link, name="reset-by-link"),
    path("account/", account_views.account, name="account"),
    path("account/password/", account_views.change_password, name="account-password"),
    path("account/time-zone/", account_views.change_time_zone, name="account-time-zone"),
    path("account/delete/", account_views.delete_account, name="account-delete"),
    path("account/sessions/end/", account_views.end_other_sessions, name="account-end-others"),
    path("account/sessions/<str:handle>/end/", account_views.end_session, name="account-end"),
    path("people/", people_views.index, name="people"),
    path("people/invite/", people_views.invite, name="people-invite"),
    path("people/invitations/<int:pk>/withdraw/", people_views.withdraw, name="people-withdraw"),
    path("people/settings/", settings_views.stored_settings, name="settings"),
    path("people/log/", people_views.log, name="people-log"),
    path("people/<int:pk>/", people_views.person, name="person"),
    path("people/<int:pk>/change/", people_views.change, name="person-change"),
    path("people/<int:pk>/reset/", people_views.reset_link, name="person-reset"),
    path("people/<int:pk>/quota/", people_views.quota, name="person-quota"),
    path("people/<int:pk>/content/open/", people_views.open_content, name="person-open"),
    path("people/<int:pk>/content/close/", people_views.close_content, name="person-close"),
    path("people/<int:pk>/content/", people_views.conversations, name="person-content"),
    path(
        "people/<int:pk>/content/<int:conversation>/",
        people_views.conversation,
        name="person-conversation",
    ),
]

# The admin's own doors lead to these: one place to sign in, with its rates and its log.
admin_urlpatterns = [
    path("login/", views.admin_sign_in),
    path("password_change/", RedirectView.as_view(pattern_name="account")),
]
