package millpond.peers;

import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/** Splits lines into words, repartitions and counts them, and writes the counts to a topic. */
final class WordCount {
  static Topology topology(Settings settings) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(settings.get("input"), Consumed.with(Serdes.String(), Serdes.String()))
        .flatMapValues(line -> List.of(line.split(" ")))
        .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
        .count(Counts.store())
        .toStream()
        .to(settings.get("output"), Produced.with(Serdes.String(), Serdes.Long()));
    return builder.build();
  }
}
