// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A member of a group that says of each delivery, before it counts as consumed, "did QUEUE OFFSET RECONSUMED BEGIN END TOPIC ID KEYS
 * BODY"; times in ns since 1970. It leaves the group when its input ends.
 *
 * <p>Words: TOPIC GROUP MODE FAIL MAX. MODE is concurrent or orderly; FAIL is none, all, or BODY:TIMES, with an
 * exclamation mark behind it if the listener is to throw; MAX is maxReconsumeTimes.
 */
final class Worker {
  /** What a member may have at hand of one queue; the harness bounds what comes twice by it. */
  private static final int CACHED = 16;
  private static final int BATCH = 8;

  private final Harness harness;
  private final String fail;
  private final boolean exception;
  private final Map<String, Integer> failures = new ConcurrentHashMap<>();

  private Worker(Harness harness, String fail) {
    this.harness = harness;
    this.exception = fail.endsWith("!");
    this.fail = exception ? fail.substring(0, fail.length() - 1) : fail;
  }

  static void run(Harness harness, String nameServers, String[] words) throws Exception {
    // Queues that become free are taken within a second, and a broker that was started anew knows the member as soon.
    System.setProperty("rocketmq.client.rebalance.waitInterval", "1000");
    Worker worker = new Worker(harness, words[3]);
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQPushConsumer c = clients.push(words[1]);
      c.setPullThresholdForQueue(CACHED);
      c.setPullBatchSize(BATCH);
      c.setHeartbeatBrokerInterval(1000);
      c.setPollNameServerInterval(1000); // the group's retry topic comes to be by the first heartbeat
      c.setConsumeMessageBatchMaxSize(1);
      c.setMaxReconsumeTimes(Integer.parseInt(words[4]));
      if (words[2].equals("orderly")) {
        c.registerMessageListener((MessageListenerOrderly) (ms, x) -> {
          x.setSuspendCurrentQueueTimeMillis(10);
          return worker.handle(ms.get(0)) ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
        });
      } else {
        c.registerMessageListener((MessageListenerConcurrently) (ms, x) ->
            worker.handle(ms.get(0)) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
      }
      c.subscribe(words[0], "*");
      c.start();
      harness.say("ready");
      while (harness.next() != null) {
        // nothing is asked of it but to go when the input ends
      }
    }
  }

  private boolean handle(MessageExt m) {
    long begin = now();
    String body = Clients.text(m);
    boolean done = !fails(body);
    String keys = m.getKeys() == null ? "-" : m.getKeys();
    harness.say("did " + m.getQueueId() + " " + m.getQueueOffset() + " " + m.getReconsumeTimes() + " " + begin + " " + now() + " "
        + m.getTopic() + " " + m.getMsgId() + " " + keys + " " + body);
    if (!done && exception) {
      throw new IllegalStateException("told to throw");
    }
    return done;
  }

  private boolean fails(String body) {
    if (fail.equals("all")) {
      return true;
    }
    int colon = fail.lastIndexOf(':');
    return colon > 0 && fail.substring(0, colon).equals(body)
        && failures.merge(body, 1, Integer::sum) <= Integer.parseInt(fail.substring(colon + 1));
  }

  private static long now() {
    Instant i = Instant.now();
    return i.getEpochSecond() * 1_000_000_000L + i.getNano();
  }
}
