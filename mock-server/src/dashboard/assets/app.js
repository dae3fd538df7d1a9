// The entry point: starts every module of the dashboard.
import { startClock } from "./clock.js";
import { startCopying } from "./copy.js";
import { startForms } from "./forms.js";
import { startKeyboard } from "./keyboard.js";
import { startLive } from "./live.js";
import { startNavigation } from "./navigation.js";

startNavigation();
startForms();
startCopying();
startKeyboard();
startClock();
startLive();
