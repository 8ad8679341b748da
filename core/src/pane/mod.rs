//! From a pane to the transcript of its agent.
