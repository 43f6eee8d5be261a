// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"fmt"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/delay"
)

// DelayOf gives the delays of the broker's levels, for those who read its store while it does not run. A level above the
// highest is the highest.
func (c *Config) DelayOf() (func(level int) time.Duration, error) {
	levels, err := delay.ParseLevels(c.Broker.Send.DelayLevels)
	if err != nil {
		return nil, fmt.Errorf("messageDelayLevel: %w", err)
	}
	return func(level int) time.Duration { return levels.Delay(levels.Clamp(level)) }, nil
}
