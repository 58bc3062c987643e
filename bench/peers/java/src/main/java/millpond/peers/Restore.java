package millpond.peers;

import org.apache.kafka.streams.Topology;

/** A count whose input is empty and whose changelog is long. */
final class Restore {
  static Topology topology(Settings settings) {
    return Counts.topology(settings);
  }
}
