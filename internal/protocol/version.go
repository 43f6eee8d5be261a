// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import "strconv"

// Versions that change how a peer is treated (RocketMQ: MQVersion; the ordinal of the enum travels).
// They rise by two from one release to the next, the even one before being its snapshot.
const (
	V3_0_7Snapshot int32 = 28  // from here: asked to reset offsets, for consumer status
	V3_0_11        int32 = 37  // from here: REGISTER_BROKER carries RegisterBrokerBody
	V3_1_8Snapshot int32 = 62  // from here: asked for running info, to consume directly
	V3_4_9         int32 = 121 // from here: maxReconsumeTimes of the request counts
	V4_1_0Snapshot int32 = 232 // clients refuse expressions towards older brokers
	V4_9_3         int32 = 399 // up to here: _UNIQUE_KEY_QUERY is not signed
	V4_9_4         int32 = 401 // from here: routes in standard JSON
	V5_0_0         int32 = 413 // from here: compressed registrations end in queue mappings
	V5_3_1         int32 = 475 // above: told GO_AWAY at shutdown
	V5_5_0         int32 = 513
	HigherVersion  int32 = 612 // anything newer than the table

	// CurrentVersion is what our servers say they are.
	CurrentVersion = V5_5_0
)

// VersionName gives RocketMQ's name of a version, "V5_5_0"; numbers beyond the table are HIGHER_VERSION.
func VersionName(ordinal int32) string {
	if ordinal < 0 || ordinal > HigherVersion {
		ordinal = HigherVersion
	}
	return versionNames[ordinal]
}

var versionNames = listVersions()

// listVersions spells out the enum: an irregular beginning, then for each release its snapshot and itself.
func listVersions() []string {
	names := make([]string, 0, HigherVersion+1)
	pair := func(name string) { names = append(names, name+"_SNAPSHOT", name) }

	names = append(names, "V3_0_0_SNAPSHOT", "V3_0_0_ALPHA1")
	for i := 1; i <= 5; i++ {
		names = append(names, "V3_0_0_BETA"+strconv.Itoa(i))
	}
	for i := 6; i <= 9; i++ {
		pair("V3_0_0_BETA" + strconv.Itoa(i))
	}
	names = append(names, "V3_0_0_FINAL")

	for i := 1; i <= 15; i++ {
		pair("V3_0_" + strconv.Itoa(i))
	}
	for major := 3; major <= 5; major++ {
		for minor := range 10 {
			if major == 3 && minor == 0 {
				continue
			}
			first := 0
			if major == 3 && minor >= 3 {
				first = 1 // 3.3.0 to 3.9.0 were left out
			}
			for patch := first; patch <= 9; patch++ {
				pair("V" + strconv.Itoa(major) + "_" + strconv.Itoa(minor) + "_" + strconv.Itoa(patch))
			}
		}
	}
	return append(names, "HIGHER_VERSION")
}
