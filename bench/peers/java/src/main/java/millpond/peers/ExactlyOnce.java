package millpond.peers;

import org.apache.kafka.streams.Topology;

/** Counts the records of each key; the runner asks for exactly-once. */
final class ExactlyOnce {
  static Topology topology(Settings settings) {
    return Counts.topology(settings);
  }
}
