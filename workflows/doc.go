// Package workflows decides the steps of an event and its notifications, and their
// order. It is deterministic: every call to an external system is an activity.
package workflows

import "herald/activities"

// acts is nil and only names the activities.
var acts *activities.Activities
