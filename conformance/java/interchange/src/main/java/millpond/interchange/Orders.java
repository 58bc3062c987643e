package millpond.interchange;

import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.TableJoined;

/**
 * Names the customers of orders by a foreign-key join, and counts the orders of each. test/kafka/orders.ts is
 * the same topology in Millpond.
 *
 * <p>Arguments: bootstrap, application id, topic of orders, topic of customers, state directory, bytes of
 * the record cache.
 */
final class Orders {
  private static final List<String> STORES = List.of("named", "orders-of");

  private Orders() {}

  static List<String> run(String groupProtocol, String[] args) throws Exception {
    String orders = args[2];
    String customers = args[3];
    var topics = List.of(
        List.of(orders),
        List.of(customers, "-naming-subscription-registration-topic", "-orders-of-repartition"),
        List.of("-naming-subscription-response-topic"));
    return new Turn(groupProtocol, args[0], args[1]).run(topology(orders, customers), topics, STORES, args[4], args[5]);
  }

  private static Topology topology(String ordersTopic, String customersTopic) {
    StreamsBuilder builder = new StreamsBuilder();
    KTable<String, String> orders =
        builder.table(ordersTopic, Consumed.with(Serdes.String(), Serdes.String()));
    KTable<String, String> customers =
        builder.table(customersTopic, Consumed.with(Serdes.String(), Serdes.String()));
    orders.leftJoin(
        customers,
        Orders::customerOf,
        (order, name) -> order + " for " + name,
        TableJoined.as("naming"),
        Turn.store("named", Serdes.String()));
    orders
        .groupBy(
            (id, order) -> KeyValue.pair(customerOf(order), order),
            Grouped.with(Serdes.String(), Serdes.String()))
        .count(Turn.store("orders-of", Serdes.Long()));
    return builder.build();
  }

  /** The first word; null when there is a hyphen. */
  private static String customerOf(String order) {
    String customer = order.split(" ")[0];
    return customer.equals("-") ? null : customer;
  }
}
