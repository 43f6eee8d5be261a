// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// helpSuffix ends the remarks of refusals that new users meet first, as RocketMQ's do (FAQUrl.suggestTodo).
const helpSuffix = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
