"""The ASGI application: pages, sockets, and what happens at the server's start and end."""

import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lumina.settings")
# WhiteNoise reads files in the old way; they are small, and Django hands them on whole.
warnings.filterwarnings("ignore", "StreamingHttpResponse must consume synchronous iterators")
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from chat.accounts.origins import SameOrigin  # noqa: E402
from chat.routing import websocket_urlpatterns  # noqa: E402
from lumina.lifespan import Lifespan  # noqa: E402
from lumina.request_ids import RequestIds  # noqa: E402

application = RequestIds(
    ProtocolTypeRouter(
        {
            "http": pages,
            "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
            "lifespan": Lifespan(),
        }
    )
)
