// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends until its input ends, and says "acked BODY" of each message that was stored and "stopped" at the end.
 *
 * <p>Words: TOPIC PREFIX KEYS PAUSE. With KEYS above 0 the messages are spread over so many sharding keys, and the next one of a key is
 * sent when the one before it was acknowledged. PAUSE is in ms, between two sends.
 */
final class Load {
  private Load() {}

  static void run(Harness harness, String nameServers, String[] words) throws Exception {
    AtomicBoolean stop = new AtomicBoolean();
    int keys = Integer.parseInt(words[2]);
    long pause = Long.parseLong(words[3]);
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      Thread sender = new Thread(() -> {
        for (int i = 0; !stop.get(); i++) {
          String key = words[1] + (keys == 0 ? "" : Integer.toString(i % keys));
          String body = key + ":" + (keys == 0 ? i : i / keys);
          Message m = new Message(words[0], "Tag", key, Clients.bytes(body));
          boolean stored = send(p, m, keys > 0);
          while (!stored && keys > 0 && !stop.get()) {
            stored = send(p, m, true);
          }
          if (stored) {
            harness.say("acked " + body);
          }
          rest(pause);
        }
      });
      sender.start();
      harness.say("ready");
      while (harness.next() != null) {
        // until the input ends
      }
      stop.set(true);
      sender.join();
      harness.say("stopped");
    }
  }

  private static boolean send(DefaultMQProducer p, Message m, boolean keyed) {
    try {
      return SendStatus.SEND_OK == (keyed
          ? p.send(m, (List<org.apache.rocketmq.common.message.MessageQueue> queues, Message x, Object key) ->
              queues.get(Math.floorMod(key.hashCode(), queues.size())), m.getKeys(), 3000)
          : p.send(m, 3000)).getSendStatus();
    } catch (Exception e) {
      rest(20); // not acknowledged: it may or may not be stored
      return false;
    }
  }

  private static void rest(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
