import { Component, type ReactNode } from "react";
import { Notice } from "./notice";

/** An error of one screen leaves the others, and the way to them, alone. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Notice
        alone
        icon="error"
        title="This screen failed"
        tone="bad"
        actions={
          <button type="button" className="button" onClick={() => this.setState({ error: null })}>
            Show it again
          </button>
        }
      >
        <p>{error.message}</p>
        <p>If it fails again, please report it with this text. The server and your runs are not concerned.</p>
      </Notice>
    );
  }
}
