import "./elements/lumina-composer.js";
import "./elements/lumina-conversation.js";
import { decorate } from "./lib/decorations.js";
import { enablePreviews } from "./lib/previews.js";
import { enableSidebar } from "./lib/sidebar.js";
import { enableSources } from "./lib/sources.js";
import { enablePageControls } from "./lib/page-controls.js";

enablePageControls();
enableSources();
enablePreviews();
enableSidebar();
decorate(document);
