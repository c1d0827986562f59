/** Text in which backticks mark what is code: the messages of the server are written so. */
export const Coded = ({ text }: { text: string }) => <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
