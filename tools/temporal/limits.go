package main

import "go.temporal.io/server/common/dynamicconfig"

// limits returns the server's dynamic configuration. The defaults protect a
// shared cluster from its tenants; here they would only throttle a test.
func limits(fair bool) dynamicconfig.StaticClient {
	const unthrottled = 100_000 // requests per second: above what one machine can do

	return dynamicconfig.StaticClient{
		dynamicconfig.FrontendRPS.Key():                                         unthrottled, // 2,400 by default, which is too low
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                  unthrottled,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():        100, // 10 by default
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                           unthrottled,
		dynamicconfig.HistoryRPS.Key():                                          unthrottled,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                            unthrottled,
		dynamicconfig.MatchingRPS.Key():                                         unthrottled,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                           unthrottled,
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): 20_000, // open polls of all workers of all tests together

		// One partition per task queue: on a single matching host, more partitions
		// only forward tasks to each other. Fairness applies within a partition.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		dynamicconfig.MatchingEnableFairness.Key():              fair,

		dynamicconfig.MatchingMaxDeployments.Key(): unthrottled, // installations in a namespace: each test is one; 100 by default
	}
}
