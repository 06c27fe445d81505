// The inbox page's service worker. It shows the notifications that arrive at this browser, also while
// the page is closed.

addEventListener("install", () => skipWaiting()); // a new release counts at once

addEventListener("push", (event) => {
  const { title, body, tag, url } = event.data.json();
  event.waitUntil(registration.showNotification(title, { body, tag, data: { url } }));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  const link = linkOf(event.notification.data?.url);
  event.waitUntil(link ? clients.openWindow(link) : openInbox());
});

// linkOf returns where a notification leads; null: to the inbox. A path is one on the page's host.
function linkOf(url) {
  try {
    const { protocol, href } = new URL(url, registration.scope);
    return url && /^https?:$/.test(protocol) ? href : null;
  } catch {
    return null;
  }
}

async function openInbox() {
  const open = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const inbox = open.find(({ url }) => url.startsWith(registration.scope));
  return inbox ? inbox.focus() : clients.openWindow(registration.scope);
}
