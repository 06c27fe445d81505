// Package workflows decides what happens to an event and its notifications, and
// in which order. It is deterministic: everything that touches the world is an
// activity.
package workflows

import "herald/activities"

// acts is never dereferenced: it only names the activities.
var acts *activities.Activities
