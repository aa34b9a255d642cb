"""The paper's full list of constraints: corners, multisets, rows. Reference and oracle; the proof never imports it."""
