// The inbox page's service worker. It shows the notifications that arrive at this browser, also while
// the page is closed.

addEventListener("install", () => skipWaiting()); // a new release counts at once

addEventListener("push", (event) => {
  const { title, body, tag } = event.data.json();
  event.waitUntil(registration.showNotification(title, { body, tag }));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openInbox());
});

async function openInbox() {
  const open = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const inbox = open.find(({ url }) => url.startsWith(registration.scope));
  return inbox ? inbox.focus() : clients.openWindow(registration.scope);
}
