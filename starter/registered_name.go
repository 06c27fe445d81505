package main

import (
	"reflect"
	"runtime"
	"strings"
)

// registeredName is the name by which the SDK registers a workflow or an activity:
// that of its function or method.
func registeredName(f any) string {
	full := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return strings.TrimSuffix(full[strings.LastIndex(full, ".")+1:], "-fm") // as the runtime marks a method's value
}
