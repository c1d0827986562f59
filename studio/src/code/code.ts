// What is not needed at first, in one chunk: the built page has fixed file names. `later.ts` loads it.
export { createPane } from "./editor";
export { ExpressionAid } from "../screens/expression/aid";
export { ExpressionSource } from "../screens/expression/source";
export { BudgetsSection } from "../screens/project/budgets";
export { ServersSection } from "../screens/project/servers";
export { TryScreen } from "../screens/try/try";
export { CompareScreen } from "../screens/compare/compare";
export { DriveBar } from "../screens/run/drive-bar";
export { AskDialog } from "../screens/definition/ask";
export { ConflictDialog } from "../screens/definition/conflict";
export { SaveDialog } from "../screens/definition/save";
export { KeysDialog } from "../parts/keys-dialog";
export { ForkDialog } from "../screens/run/fork";
export { NodeMenu } from "../screens/run/menu";
export { StepStop } from "../screens/run/step-stop";
export { PasskeyScreen } from "../screens/passkey/passkey";
export { confirmed } from "../passkey/confirm";
