// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// BrokerConfigAnswer is the header of the answer to GET_BROKER_CONFIG (26); the body is lines of key=value.
type BrokerConfigAnswer struct {
	Version string `header:"version"` // JSON of a DataVersion
}
