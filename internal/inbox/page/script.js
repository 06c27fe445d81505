// The inbox page. It shows notifications from the API and from the socket. It stores only the token,
// and that a link asked for the preferences, until the tab closes. It inserts texts from the server
// only as textContent.

const byId = (id) => document.getElementById(id);
const copyOf = (template) => byId(template).content.firstElementChild.cloneNode(true);

// --- Who is signed in ---

const demo = document.documentElement.dataset.demo === "true";
const tokenKey = "herald-token";
const wantedKey = "herald-wanted";

const bytesOf = (base64url) => Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

// claims returns the token's claims, to show whose token it is. The server verifies it.
function claims(jwt) {
  try {
    return JSON.parse(new TextDecoder().decode(bytesOf(jwt.split(".")[1])));
  } catch {
    return {};
  }
}

let token = sessionStorage.getItem(tokenKey);

const personOf = (jwt) => `${claims(jwt).user_type}/${claims(jwt).sub}`;
const nameIn = (jwt) => claims(jwt).name || "";

function keep(jwt) {
  token = jwt;
  sessionStorage.setItem(tokenKey, jwt);
}

function send(method, path, body, headers = {}) {
  if (body) headers["Content-Type"] = "application/json";
  return fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store", signal: AbortSignal.timeout(15_000) });
}

// takeCode exchanges the code in a link, such as /#code=…, for a token. It removes the code from the
// address bar first, so that nobody copies it. It returns null without a valid code. With
// #preferences the page opens the preferences, as soon as somebody is signed in.
async function takeCode() {
  const link = new URLSearchParams(location.hash.slice(1));
  const code = link.get("code");
  if (link.has("preferences")) sessionStorage.setItem(wantedKey, "preferences");
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  if (!code) return null;
  const response = await send("POST", "api/session", { code }).catch(() => null);
  return response?.ok ? (await response.json()).token : null;
}

// enter signs in by the link's code, if there is a code. It asks before it replaces another
// person's session in this tab.
async function enter() {
  const given = await takeCode();
  if (!given) return;
  if (!token || personOf(token) === personOf(given)) return keep(given);
  const before = token;
  token = null; // no requests while the page asks
  byId("switch-from").textContent = nameIn(before) || "somebody else";
  byId("switch-to").textContent = nameIn(given) || "another person";
  view("switching");
  byId("switching-heading").focus();
  const agreed = await new Promise((answer) => {
    byId("agree").addEventListener("click", () => answer(true), { once: true });
    byId("refuse").addEventListener("click", () => answer(false), { once: true });
  });
  keep(agreed ? given : before);
}

class SignedOut extends Error {}

// api sends a request, and throws an error if the server refuses it. If the token is no longer
// valid, api ends the session.
async function api(method, path, body) {
  const asked = token;
  const response = await send(method, path, body, { Authorization: `Bearer ${asked}` });
  if (asked !== token) throw new SignedOut(); // another person has signed in meanwhile
  if (response.status === 401) {
    signOut();
    throw new SignedOut();
  }
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw Object.assign(new Error(answer.detail || "the server refused"), { status: response.status, problems: answer.problems || [] });
  }
  return answer;
}

// --- The list ---

const items = new Map(); // by notification_id: the server's data and the element
let order = []; // notification_ids, newest first
let olderThan = null; // `before` of the next page; null if there is none
let unread = 0;
let unreadOnly = false; // the list has unread notifications only, and those read since

function view(name) {
  document.body.dataset.view = name;
  for (const part of document.querySelectorAll("[data-in]")) part.hidden = part.dataset.in !== name;
  byId("switch").hidden = name !== "inbox";
  byId("switch").textContent = demo ? "Switch" : "Sign out";
}

function paragraph(text) {
  const line = document.createElement("p");
  line.textContent = text;
  return line;
}

function announce(text) {
  const line = paragraph(text);
  byId("announcements").append(line);
  setTimeout(() => line.remove(), 10_000);
}

function showCount() {
  const shown = unread > 99 ? "99+" : String(unread);
  byId("count").textContent = unread ? shown : "";
  byId("bell").setAttribute("aria-label", unread === 1 ? "1 unread notification" : `${unread || "No"} unread notifications`);
  byId("read-all").disabled = unread === 0;
  document.title = unread ? `(${shown}) Notifications` : "Notifications";
}

const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

function showTime(element, at) {
  const date = new Date(at);
  const minutes = Math.round((date - Date.now()) / 60_000);
  const today = date.toDateString() === new Date().toDateString();
  element.dateTime = date.toISOString();
  element.title = date.toLocaleString("en", { dateStyle: "full", timeStyle: "short" });
  if (minutes > -1) element.textContent = "now";
  else if (minutes > -60) element.textContent = ago.format(minutes, "minute");
  else if (today) element.textContent = date.toLocaleTimeString("en", { timeStyle: "short" });
  else element.textContent = date.toLocaleDateString("en", { dateStyle: "medium" });
}

setInterval(() => {
  for (const item of items.values()) showTime(item.element.querySelector("time"), item.at);
}, 30_000);

function showRead(item) {
  item.element.classList.toggle("unread", !item.read_at);
  item.element.querySelector(".unread-word").hidden = Boolean(item.read_at);
}

// linkOf returns the address that a notification leads to, or null. Other programs publish frames
// too, so it refuses scripts again.
function linkOf(url) {
  try {
    const { protocol, href } = new URL(url, location.href);
    return url && /^https?:$/.test(protocol) ? href : null;
  } catch {
    return null;
  }
}

const colours = 6; // of the icons, in style.css

// showType gives each event type an icon: a letter and a colour.
function showType(icon, type) {
  icon.querySelector("b").textContent = type.slice(0, 1).toUpperCase();
  icon.dataset.colour = [...type].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) >>> 0, 0) % colours;
}

function showLink(item) {
  const href = linkOf(item.url);
  if (!href || item.element.querySelector(".link")) return;
  const link = copyOf("link");
  link.href = href;
  link.setAttribute("aria-label", `Open: ${item.title}`);
  for (const click of ["click", "auxclick"]) link.addEventListener(click, () => read(item));
  item.element.append(link);
}

// put adds a notification, or updates a known notification.
function put(told) {
  let item = items.get(told.notification_id);
  if (!item) {
    item = { element: copyOf("notification"), read_at: null };
    item.element.querySelector("button").addEventListener("click", () => open(item));
    items.set(told.notification_id, item);
  }
  Object.assign(item, told, { arrived: 0, at: told.available_at || told.created_at, read_at: told.read_at || item.read_at }); // a read notification stays read
  item.element.dataset.id = item.notification_id;
  item.element.querySelector(".title").textContent = item.title;
  item.element.querySelector(".body").textContent = item.body;
  showType(item.element.querySelector(".icon"), item.event_type ?? "");
  showLink(item);
  showAbout(item);
  showTime(item.element.querySelector("time"), item.at);
  showRead(item);
  return item;
}

// replaces reports whether a notification has taken the place of another one.
const replaces = (newer, older) =>
  Boolean(newer.collapse_key) &&
  newer.collapse_key === older.collapse_key &&
  newer.event_type === older.event_type &&
  BigInt(newer.notification_id) > BigInt(older.notification_id); // a large id is a text

// replaceOlder drops the notifications whose place an item has taken. It returns whether one of them
// had the keyboard focus.
function replaceOlder(item) {
  let focused = false;
  for (const other of items.values()) {
    if (!replaces(item, other)) continue;
    items.delete(other.notification_id);
    toAcknowledge.delete(other.notification_id);
    order = order.filter((id) => id !== other.notification_id);
    if (!other.read_at) unread = Math.max(0, unread - 1);
    focused ||= other.element.contains(document.activeElement);
  }
  return focused;
}

// showLoading fills the list until the first page is there.
function showLoading() {
  byId("list").setAttribute("aria-busy", "true");
  byId("list").replaceChildren(...Array.from({ length: 3 }, () => copyOf("skeleton")));
  byId("loading").textContent = "Loading…";
  byId("empty").hidden = byId("older").hidden = true;
}

// showList orders the elements. It does not move an element that is in the right place, because a
// moved element loses the keyboard focus.
function showList() {
  let next = byId("list").firstElementChild;
  for (const id of order) {
    const { element } = items.get(id);
    if (element === next) next = next.nextElementSibling;
    else byId("list").insertBefore(element, next);
  }
  while (next) {
    const gone = next;
    next = next.nextElementSibling;
    gone.remove();
  }
  byId("list").setAttribute("aria-busy", "false");
  byId("loading").textContent = "";
  byId("empty").textContent = unreadOnly ? "You have read everything." : "No notifications yet. New ones appear here as they arrive.";
  byId("empty").hidden = order.length > 0;
  byId("older").hidden = olderThan === null;
}

// --- API requests ---

// once returns a function that never runs work concurrently. Calls during a run wait for one
// common run after it, so each call waits for a run that began after the call.
function once(work) {
  let running = null;
  let next = null;
  return function run() {
    if (!running) {
      running = work().finally(() => (running = null));
      return running;
    }
    next ??= running.catch(() => {}).then(() => {
      next = null;
      return run();
    });
    return next;
  };
}

// The socket may deliver a notification before the API lists it. For the time `settling` the page
// shows its count instead of the API's. For the time `unlisted` the notification stays on top.
const settling = 3_000; // milliseconds
const unlisted = 60_000;
let countedUntil = 0; // time until which the page's count is shown
let later = 0; // timer of the refresh after countedUntil

// refresh reads the newest page and the count. If the page has no known notification, there may be
// a gap, so refresh drops the known notifications.
const refresh = once(async () => {
  const only = unreadOnly;
  const [page, count] = await Promise.all([api("GET", only ? "api/notifications?unread=true" : "api/notifications"), api("GET", "api/notifications/unread-count")]);
  if (only !== unreadOnly) return; // the next refresh reads the other list
  const known = new Set(order);
  const listed = new Set(page.notifications.map((told) => put(told).notification_id));
  for (const id of listed) replaceOlder(items.get(id));
  const fresh = order.filter((id) => !listed.has(id) && items.get(id).arrived > Date.now() - unlisted);
  const older = order.slice(order.findLastIndex((id) => listed.has(id)) + 1).filter((id) => !fresh.includes(id)); // missing ones above these were replaced
  const reaches = page.next_before !== null && [...listed].some((id) => known.has(id));
  const kept = only ? order.filter((id) => items.get(id).readHere && !listed.has(id)) : []; // the person reads them now
  order = [...new Set([...fresh, ...listed, ...(reaches ? older : []), ...kept])];
  if (kept.length) order.sort((a, b) => new Date(items.get(b).at) - new Date(items.get(a).at) || b - a);
  if (!reaches) olderThan = page.next_before;
  for (const id of items.keys()) if (!order.includes(id)) items.delete(id);
  if (Date.now() > countedUntil) unread = count.unread;
  showList();
  showCount();
  acknowledge();
});

function refreshLater() {
  countedUntil = Date.now() + settling;
  later ||= setTimeout(settle, settling + 100);
}

// settle refreshes, and once more after notifications that came meanwhile.
function settle() {
  const left = countedUntil - Date.now();
  later = left > 0 ? setTimeout(settle, left + 100) : 0;
  if (token) quietly(refresh());
}

// quietly ignores errors that the next refresh corrects.
const quietly = (work) => work.catch(() => {});

async function showOlder() {
  const only = unreadOnly;
  const page = await api("GET", `api/notifications?before=${olderThan}${only ? "&unread=true" : ""}`);
  if (only !== unreadOnly) return;
  const fresh = page.notifications.filter((told) => !items.has(told.notification_id));
  order.push(...fresh.map((told) => put(told).notification_id));
  olderThan = page.next_before;
  showList();
  acknowledge();
  (items.get(fresh[0]?.notification_id)?.element.querySelector("button") || byId("list")).focus();
}

// seen shows a notification as read, here or in another tab.
function seen(item) {
  if (!item || item.read_at) return;
  item.read_at = new Date().toISOString();
  unread = Math.max(0, unread - 1);
  showRead(item);
  showCount();
}

// filter shows all notifications, or unread notifications only.
async function filter(only) {
  if (only === unreadOnly) return;
  unreadOnly = only;
  showFilter();
  order = [];
  olderThan = null;
  items.clear();
  showLoading();
  await refresh().catch((error) => failed(error, "The notifications could not be loaded. Try again."));
}

function showFilter() {
  byId("show-all").setAttribute("aria-pressed", !unreadOnly);
  byId("show-unread").setAttribute("aria-pressed", unreadOnly);
}

// open expands or collapses a notification and marks it as read.
function open(item) {
  const button = item.element.querySelector("button");
  button.setAttribute("aria-expanded", button.getAttribute("aria-expanded") !== "true");
  read(item);
}

// read marks a notification as read, also in the other tabs.
async function read(item) {
  item.readHere = true;
  if (item.read_at) return;
  seen(item);
  try {
    await api("POST", `api/notifications/${item.notification_id}/read`);
    tabs?.postMessage({ read: [item.notification_id] });
  } catch (error) {
    item.read_at = null;
    unread++;
    showRead(item);
    showCount();
    failed(error, "The notification could not be marked as read. Try again.");
  }
  quietly(refresh());
}

async function readAll() {
  const shown = [...order];
  if (!shown.length) return;
  try {
    await api("POST", `api/notifications/read-all?until=${shown[0]}`);
    tabs?.postMessage({ read: shown });
    for (const id of shown) seen(items.get(id));
    announce("All notifications are marked as read.");
    byId("list").querySelector("button")?.focus(); // read-all is disabled now and loses the focus
  } catch (error) {
    failed(error, "The notifications could not be marked as read. Try again.");
  }
  quietly(refresh());
}

// failed announces an error, except after signing out, which the page shows anyway.
function failed(error, text) {
  if (!(error instanceof SignedOut)) announce(text);
}

// --- Live notifications ---

const shortestWait = 500; // milliseconds
const longestWait = 30_000;
const settled = 5_000; // milliseconds; a socket that was open longer counts as a success

let socket = null;
let attempts = 0; // since the last success
let timer = 0;
let last = null; // id of the last notification from a socket
const toAcknowledge = new Map(); // by id, until shown: whether a notification from a socket is new

function connection(state) {
  const before = document.body.dataset.connection;
  document.body.dataset.connection = state;
  byId("connection").textContent = state === "offline" ? "You are offline. New notifications appear here when you are back online." : "";
  if (before === "offline" && state === "online") announce("You are online again.");
}

// connect reads the list and opens a socket, which delivers newer notifications.
async function connect() {
  clearTimeout(timer);
  if (!token || socket) return;
  const mine = {};
  socket = mine; // prevents another connect meanwhile
  try {
    await refresh();
  } catch (error) {
    if (socket === mine) socket = null;
    if (!(error instanceof SignedOut)) reconnect();
    return;
  }
  if (socket !== mine) return;
  const address = new URL("ws", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const opened = new WebSocket(address, ["herald.v1", `bearer.${token}`]);
  let since = Infinity;
  socket = opened;
  opened.addEventListener("open", () => {
    since = Date.now();
    connection("online");
    opened.send(JSON.stringify(last ? { type: "after", id: last } : { type: "after" }));
  });
  opened.addEventListener("message", (event) => {
    if (socket === opened) receive(JSON.parse(event.data));
  });
  opened.addEventListener("close", (event) => {
    if (socket !== opened) return;
    socket = null;
    if (event.code === 4001) return signOut();
    if (Date.now() - since > settled) attempts = 0;
    reconnect();
  });
}

// reconnect waits longer after each failure. The time is random, so that the clients of a stopped
// gateway do not all reconnect at the same moment.
function reconnect() {
  connection("offline");
  const wait = Math.min(longestWait, shortestWait * 2 ** attempts++);
  clearTimeout(timer);
  timer = setTimeout(connect, wait * (0.5 + Math.random() / 2));
}

function connectNow() {
  attempts = 0;
  if (token && !socket) connect();
}

function disconnect() {
  clearTimeout(timer);
  const open = socket;
  socket = null;
  open?.close?.();
}

function receive(frame) {
  if (frame.type !== "notification") return;
  if (!frame.notification_id || !frame.user_id) return receiveOther(frame);
  last = frame.notification_id;
  if ([...items.values()].some((item) => replaces(item, frame))) return; // it was replaced while its attempt was in flight
  toAcknowledge.set(last, !items.has(last));
  const top = items.get(order[0]);
  if (!items.has(last) && top && frame.created_at < top.created_at) return quietly(refresh()); // the list knows its place
  if (!items.has(last)) {
    const item = put(frame);
    item.arrived = Date.now();
    item.element.classList.add("arrived");
    const focused = replaceOlder(item);
    order.unshift(last);
    unread++;
    showList();
    if (focused) item.element.querySelector("button").focus();
    showCount();
    refreshLater();
  }
  acknowledge();
}

const spoken = ({ title, body }) => [title, body].filter(Boolean).join(". ").slice(0, 300);

// receiveOther shows a frame that is not in the inbox: a digest, whose items are in the list, or a
// broadcast, which the server does not store.
function receiveOther(frame) {
  announce(spoken(frame));
  if (frame.user_id) return quietly(refresh());
  const notice = copyOf("notice");
  notice.querySelector("strong").textContent = frame.title ?? "";
  notice.querySelector("span").textContent = frame.body ?? "";
  notice.querySelector("button").addEventListener("click", () => notice.remove());
  byId("notices").prepend(notice);
}

// acknowledge acknowledges shown notifications to the server, and announces new notifications to
// screen readers.
function acknowledge() {
  if (socket?.readyState !== WebSocket.OPEN) return;
  for (const [id, news] of toAcknowledge) {
    const item = items.get(id);
    if (!item) continue;
    socket.send(JSON.stringify({ type: "ack", id }));
    toAcknowledge.delete(id);
    if (news && order.indexOf(id) < 20) announce(spoken(item));
  }
}

// --- Preferences ---

const channelNames = { WEBSOCKET: "This inbox", EMAIL: "E-mail", PUSH: "Push notifications", SMS: "Text messages" };
const nameOf = (channel) => channelNames[channel] || channel[0] + channel.slice(1).toLowerCase(); // Slack
let edited = null; // the preferences in the form
let touched = new Set(); // what the person has changed: only this is saved

async function openPreferences() {
  try {
    [edited] = await Promise.all([api("GET", "api/preferences"), quietly(loadEntities())]);
    touched = new Set();
  } catch (error) {
    return failed(error, "Your preferences could not be loaded. Try again.");
  }
  byId("problems").replaceChildren();
  byId("channels").replaceChildren(...edited.channels.map(channelField));
  byId("categories").replaceChildren(...edited.categories.map(categoryField));
  byId("categories-part").hidden = edited.categories.length === 0;
  byId("mandatory-hint").hidden = ![edited, ...edited.categories].some((part) => part.channels.some((channel) => channel.mandatory));
  byId("digest-part").hidden = edited.digest_at === undefined;
  byId("digest-at").value = edited.digest_at || "";
  const zones = new Set(["UTC", edited.timezone, ...Intl.supportedValuesOf("timeZone")].filter(Boolean));
  byId("timezone").replaceChildren(...[...zones].sort().map((zone) => new Option(zone, zone, false, zone === edited.timezone)));
  byId("preferences").showModal();
  byId("preferences-heading").focus();
}

// choice fills in a checkbox for a preference. A mandatory preference is always on.
function choice(element, name, preference) {
  const box = element.querySelector("input");
  element.querySelector(".name").textContent = name;
  box.checked = preference.enabled || preference.mandatory;
  box.disabled = Boolean(preference.mandatory);
  element.querySelector(".always").hidden = !preference.mandatory;
  box.addEventListener("change", () => {
    preference.enabled = box.checked;
    touched.add(preference);
  });
}

function channelField(preference) {
  const field = copyOf("channel");
  field.dataset.channel = preference.channel;
  choice(field.querySelector(".switch"), nameOf(preference.channel), preference);
  const quiet = preference.quiet_hours;
  if (!quiet) {
    field.querySelector(".quiet-hours").remove();
    return field;
  }
  const [enabled, start, end] = ["enabled", "start", "end"].map((name) => field.querySelector(`.quiet-hours .${name}`));
  enabled.checked = quiet.enabled;
  start.value = quiet.start || "22:00";
  end.value = quiet.end || "08:00";
  start.setAttribute("aria-label", `${nameOf(preference.channel)}: quiet hours from`);
  end.setAttribute("aria-label", `${nameOf(preference.channel)}: quiet hours to`);
  const show = () => {
    field.querySelector(".times").hidden = !enabled.checked;
    start.required = end.required = enabled.checked;
    preference.quiet_hours = enabled.checked ? { enabled: true, start: start.value, end: end.value } : { ...quiet, enabled: false };
  };
  for (const input of [enabled, start, end]) {
    input.addEventListener("input", () => {
      show();
      touched.add("quiet:" + preference.channel);
    });
  }
  show();
  return field;
}

function categoryField(preference) {
  const field = copyOf("category");
  field.dataset.category = preference.category;
  const name = preference.category.replaceAll(/[-_]/g, " ");
  field.querySelector("p").textContent = name;
  field.setAttribute("aria-label", name);
  for (const channel of preference.channels) {
    const chip = copyOf("chip");
    chip.dataset.channel = channel.channel;
    choice(chip, nameOf(channel.channel), channel);
    field.querySelector(".chips").append(chip);
  }
  return field;
}

// changes returns what the person has changed in the form. Everything else may have changed elsewhere
// meanwhile, such as by a link in a mail.
function changes() {
  const wanted = {};
  if (byId("timezone").value !== edited.timezone) wanted.timezone = byId("timezone").value;
  if (edited.digest_at !== undefined && byId("digest-at").value !== edited.digest_at) wanted.digest_at = byId("digest-at").value;
  wanted.channels = edited.channels
    .map((preference) => ({
      channel: preference.channel,
      ...(touched.has(preference) && { enabled: preference.enabled }),
      ...(touched.has("quiet:" + preference.channel) && { quiet_hours: preference.quiet_hours }),
    }))
    .filter((change) => "enabled" in change || "quiet_hours" in change);
  wanted.categories = edited.categories
    .map(({ category, channels }) => ({
      category,
      channels: channels.filter((preference) => touched.has(preference)).map(({ channel, enabled }) => ({ channel, enabled })),
    }))
    .filter(({ channels }) => channels.length > 0);
  return wanted;
}

async function savePreferences(event) {
  event.preventDefault();
  byId("save").disabled = true;
  try {
    await api("PUT", "api/preferences", changes());
    byId("preferences").close();
    announce("Your preferences are saved.");
  } catch (error) {
    if (!(error instanceof SignedOut)) showProblems(error);
  }
  byId("save").disabled = false;
}

function showProblems(error) {
  const named = (text) => edited.channels.reduce((words, { channel }) => words.replaceAll(channel, nameOf(channel)), text);
  const texts = error.problems?.length ? error.problems.map(named) : ["Your preferences could not be saved. Try again."];
  byId("problems").replaceChildren(...texts.map(paragraph));
}

// --- What the person follows and mutes ---

const follows = new Map(); // by keyOf
const mutes = new Map();
let followable = []; // types of entities that have followers
let loaded = false; // these are known

const keyOf = ({ entity_type: type, entity_id: id }) => JSON.stringify([type, id]);
const bodyOf = ({ entity_type, entity_id }) => ({ entity_type, entity_id });
const entityName = (entity) => entity.entity_name || `${entity.entity_type.toLowerCase().replaceAll(/[-_]/g, " ")} ${entity.entity_id}`;

// isGroup reports whether a notification came through an entity that the person can leave. They cannot
// leave themselves.
const isGroup = ({ entity_type: type, entity_id: id, user_type, user_id }) =>
  Boolean(type && id) && !["CUSTOMER", "ADMIN", "BROADCAST"].includes(type) && !(type === user_type && id === user_id);

// loadEntities reads what the person follows and mutes. Without it, notifications have no buttons.
const loadEntities = once(async () => {
  const [followed, muted] = await Promise.all([api("GET", "api/follows"), api("GET", "api/mutes")]);
  follows.clear();
  mutes.clear();
  for (const follow of followed.follows) follows.set(keyOf(follow), follow);
  for (const mute of muted.mutes) mutes.set(keyOf(mute), mute);
  followable = followed.entity_types;
  loaded = true;
  showEntities();
});

function showEntities() {
  for (const item of items.values()) showAbout(item);
  showEntityList("follows", follows);
  showEntityList("mutes", mutes);
}

// showAbout shows why the person gets a notification, and buttons for its entity.
function showAbout(item) {
  let about = item.element.querySelector(".about");
  if (!item.reason && !isGroup(item)) return about?.remove();
  if (!about) {
    about = copyOf("about");
    about.querySelector(".follow").addEventListener("click", () => follow(item, follows.has(keyOf(item)) ? null : "ALL"));
    about.querySelector(".mute").addEventListener("click", () => mute(item, !mutes.has(keyOf(item))));
    item.element.append(about);
  }
  about.querySelector(".reason").textContent = item.reason ?? "";
  if (!isGroup(item)) return;
  const [follower, muter] = [about.querySelector(".follow"), about.querySelector(".mute")];
  follower.hidden = !loaded || !(followable.includes(item.entity_type) || follows.has(keyOf(item)));
  muter.hidden = !loaded;
  follower.textContent = `${follows.has(keyOf(item)) ? "Unfollow" : "Follow"} ${entityName(item)}`;
  muter.textContent = `${mutes.has(keyOf(item)) ? "Unmute" : "Mute"} ${entityName(item)}`;
}

// showEntityList shows a list of the preferences. The new line of an entity takes over the keyboard focus.
function showEntityList(id, entities) {
  const lines = [...entities.values()].map((entity) => entityLine(id, entity));
  const focused = document.activeElement;
  const key = byId(id).contains(focused) && focused.closest("li").dataset.key;
  byId(`${id}-part`).hidden = entities.size === 0;
  byId(id).replaceChildren(...lines);
  lines.find((line) => line.dataset.key === key)?.querySelector(focused.localName).focus();
}

function entityLine(id, entity) {
  const line = copyOf("entity");
  const [level, end] = [line.querySelector("select"), line.querySelector("button")];
  const name = entityName(entity);
  line.dataset.key = keyOf(entity);
  line.querySelector(".name").textContent = name;
  if (id === "mutes") {
    level.remove();
    end.textContent = "Unmute";
    end.addEventListener("click", () => leaveList(id, mute(entity, false)));
  } else {
    level.append(new Option("everything", "ALL"), new Option("important only", "IMPORTANT"));
    level.value = entity.level;
    level.setAttribute("aria-label", `${name}: how much`);
    level.addEventListener("change", () => follow(entity, level.value));
    end.textContent = "Unfollow";
    end.addEventListener("click", () => leaveList(id, follow(entity, null)));
  }
  end.setAttribute("aria-label", `${end.textContent} ${name}`);
  return line;
}

// leaveList moves the keyboard focus after a line of a list has gone with its button.
async function leaveList(id, work) {
  await work;
  (byId(id).querySelector("button") || byId("preferences-heading")).focus();
}

// follow stores how much the person hears as a follower of an entity; null: they do not follow it.
async function follow(entity, level) {
  await changeEntity(follows, entity, "api/follows", level && { ...bodyOf(entity), level }, level ? "You follow" : "You no longer follow");
}

async function mute(entity, on) {
  await changeEntity(mutes, entity, "api/mutes", on && bodyOf(entity), on ? "You have muted" : "You have unmuted");
}

// changeEntity stores a body, or removes the entity without one.
async function changeEntity(known, entity, path, body, done) {
  try {
    if (body) await api("PUT", path, body);
    else await api("DELETE", `${path}?${new URLSearchParams(bodyOf(entity))}`);
  } catch (error) {
    failed(error, error.problems?.[0] ? `Nothing has changed: ${error.problems[0]}.` : "This did not work. Try again.");
    return showEntities();
  }
  if (body) known.set(keyOf(entity), { ...body, entity_name: entity.entity_name });
  else known.delete(keyOf(entity));
  announce(`${done} ${entityName(entity)}.`);
  showEntities();
}

// --- Notifications of the browser ---

const { pushKey } = document.documentElement.dataset; // empty: the gateway offers none
const hasPush = Boolean(pushKey) && "serviceWorker" in navigator && "PushManager" in window;
const policy = window.trustedTypes?.createPolicy("herald", { createScriptURL: () => "service-worker.js" });
let device = null; // id of this browser at the server, if it gets notifications

function showPush(problem = "") {
  byId("push-part").hidden = !hasPush;
  byId("push").textContent = device ? "Stop notifications in this browser" : "Notify me in this browser";
  byId("push").disabled = false;
  byId("push-problem").textContent = problem;
}

const subscriptionOf = async (registration) => (await registration?.pushManager.getSubscription()) ?? null;

// noAnswer fails after a while. Some browsers wait forever for their push service.
const noAnswer = () => new Promise((_, fail) => setTimeout(() => fail(new Error("the push service of your browser does not answer")), 15_000));

// register tells the server that this browser is the person's. It replaces a subscription for a key
// that is no longer the gateway's.
async function register(registration) {
  let subscription = await subscriptionOf(registration);
  if (subscription && String(new Uint8Array(subscription.options.applicationServerKey)) !== String(bytesOf(pushKey))) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await Promise.race([registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: pushKey }), noAnswer()]);
  device = (await api("PUT", "api/devices", { kind: "webpush", token: JSON.stringify(subscription) })).id;
}

// resumePush registers a browser that gets notifications already. From now on it gets the
// notifications of the person who has signed in.
async function resumePush() {
  showPush();
  const registration = hasPush ? await navigator.serviceWorker.getRegistration() : null;
  if (await subscriptionOf(registration)) await register(registration);
  showPush();
}

async function switchPush() {
  byId("push").disabled = true;
  try {
    if (device) await stopPush();
    else await startPush();
    showPush();
  } catch (error) {
    if (error instanceof SignedOut) return;
    showPush(`This did not work: ${error.problems?.[0] || error.message}.`);
  }
}

async function startPush() {
  if ((await Notification.requestPermission()) !== "granted") {
    throw new Error("your browser blocks notifications of this page, so allow them in its settings");
  }
  await navigator.serviceWorker.register(policy ? policy.createScriptURL("") : "service-worker.js");
  await register(await navigator.serviceWorker.ready);
}

async function stopPush() {
  const registration = hasPush ? await navigator.serviceWorker.getRegistration() : null;
  await (await subscriptionOf(registration))?.unsubscribe();
  const id = device;
  device = null; // without a subscription, the server finds out at the next notification
  if (id) await api("DELETE", `api/devices/${id}`);
}

// --- Session ---

let tabs = null; // channel to the person's other tabs

function start() {
  const { user_type: userType, sub } = claims(token);
  byId("who").textContent = nameIn(token);
  tabs = new BroadcastChannel(`herald-inbox/${userType}/${sub}`);
  tabs.addEventListener("message", ({ data }) => {
    for (const id of data.read) seen(items.get(id));
    quietly(refresh());
  });
  connection("connecting");
  view("inbox");
  showLoading();
  connect();
  quietly(resumePush());
  quietly(loadEntities());
  if (sessionStorage.getItem(wantedKey)) openPreferences();
  sessionStorage.removeItem(wantedKey);
}

// leave signs the person out. On a shared computer nobody else may see their notifications, so it also
// ends the subscription of this browser.
async function leave() {
  byId("switch").disabled = true;
  try {
    await stopPush();
  } catch {
    // The browser's subscription has ended, or the server finds out at the next notification.
  }
  byId("switch").disabled = false;
  signOut();
}

// signOut removes all data of the person.
function signOut() {
  token = null;
  sessionStorage.clear();
  disconnect();
  tabs?.close();
  tabs = null;
  last = null;
  order = [];
  olderThan = null;
  unread = 0;
  unreadOnly = false;
  attempts = 0;
  device = null;
  items.clear();
  for (const entities of [follows, mutes]) entities.clear();
  loaded = false;
  showEntities();
  toAcknowledge.clear();
  byId("notices").replaceChildren();
  byId("announcements").replaceChildren();
  byId("who").textContent = "";
  byId("preferences").close();
  connection("connecting");
  showFilter();
  showList();
  showCount();
  if (demo) return choose();
  view("signed-out");
  byId("signed-out-heading").focus();
}

// choose asks which of the example's people to be, on a demo gateway.
async function choose() {
  view("chooser");
  const people = await (await fetch("demo/people")).json();
  byId("people").replaceChildren(
    ...people.map((person) => {
      const line = copyOf("person");
      line.querySelector("strong").textContent = person.name;
      line.querySelector("span").textContent = `${person.user_type.toLowerCase().replaceAll("_", " ")} ${person.user_id}`;
      line.querySelector("button").addEventListener("click", () => become(person));
      return line;
    }),
  );
  byId("chooser-heading").focus();
}

async function become({ user_type, user_id }) {
  const response = await send("POST", "demo/token", { user_type, user_id });
  if (!response.ok) return choose();
  keep((await response.json()).token);
  start();
}

byId("read-all").addEventListener("click", readAll);
byId("show-all").addEventListener("click", () => filter(false));
byId("show-unread").addEventListener("click", () => filter(true));
byId("older").addEventListener("click", () => quietly(showOlder()));
byId("open-preferences").addEventListener("click", openPreferences);
byId("preferences-form").addEventListener("submit", savePreferences);
byId("cancel").addEventListener("click", () => byId("preferences").close());
byId("push").addEventListener("click", switchPush);
byId("switch").addEventListener("click", leave);
addEventListener("hashchange", () => location.hash && location.reload());
addEventListener("online", connectNow);
addEventListener("offline", () => {
  disconnect();
  if (token) reconnect();
});
addEventListener("pageshow", (event) => event.persisted && connectNow());
document.addEventListener("visibilitychange", () => {
  if (document.hidden || !token) return;
  if (socket) quietly(refresh());
  else connectNow();
});
addEventListener("focus", () => token && socket && quietly(refresh()));

showCount();
await enter();
if (token) start();
else if (demo) choose();
else view("signed-out");
