package millpond.peers;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** Leaves the orders in dollars out, and keys the others by customer. */
final class Stateless {
  static Topology topology(Settings settings) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(settings.get("input"), Consumed.with(Serdes.String(), Serdes.String()))
        .filter((order, value) -> !value.startsWith("USD", 15))
        .map((order, value) -> KeyValue.pair(value.substring(0, 14), order + value.substring(14)))
        .to(settings.get("output"), Produced.with(Serdes.String(), Serdes.String()));
    return builder.build();
  }
}
