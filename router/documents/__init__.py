"""Reading what people hand in: receipts, invoices, tickets, certificates. No model is needed."""
