"""Who is subscribed: subscriptions from every source, admitted, recorded in the journal and brought into the index."""
