package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// pid is a process of this machine. Its methods return 0 for values that they cannot read.
type pid int

// self returns the benchmark's process.
func self() pid { return pid(os.Getpid()) }

// cpu returns the CPU time of the process and of its ended children. It is exact to a hundredth
// of a second.
func (p pid) cpu() time.Duration {
	var ticks int
	for _, i := range []int{11, 12, 13, 14} { // user and system time, and the same of ended children
		ticks += p.stat(i)
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// parent returns the parent process.
func (p pid) parent() pid { return pid(p.stat(1)) }

// stat returns a field of /proc/PID/stat. Field 0 follows the name.
func (p pid) stat(field int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0
	}
	_, fields, _ := strings.Cut(string(text), ") ") // the name may contain spaces
	values := strings.Fields(fields)
	if len(values) <= field {
		return 0
	}
	value, _ := strconv.Atoi(values[field])
	return value
}

// resetPeak resets the peak that peakMemory returns.
func (p pid) resetPeak() { _ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0) }

// peakMemory returns the peak of the process's resident memory, in bytes.
func (p pid) peakMemory() int { return p.status("VmHWM:") }

func (p pid) status(name string) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			kilobytes, _ := strconv.Atoi(fields[1])
			return kilobytes << 10
		}
	}
	return 0
}
