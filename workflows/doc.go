// Package workflows decides the steps of an event and its notifications, and their
// order. It is deterministic: every call to an external system is an activity.
package workflows

import "herald/activities"

// acts only names the activities. It is nil, and never dereferenced.
var acts *activities.Activities
