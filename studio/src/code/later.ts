import { lazy, type ComponentType } from "react";

type Code = typeof import("./code");
let loaded: Code | null = null;

/** Loads the part of the page that is not shown first. */
export const later = (): Promise<Code> => import("./code").then((code) => (loaded = code));

/**
 * A component of that part. Once it is loaded, React is answered at once: it would show nothing for some 300 ms otherwise, in which
 * keys that are meant for a dialog go elsewhere.
 */
const part = <C extends ComponentType<any>>(pick: (code: Code) => C) =>
  lazy(() => {
    const code = loaded;
    if (code === null) return later().then((code) => ({ default: pick(code) }));
    return { then: (take: (module: { default: C }) => void) => take({ default: pick(code) }) } as Promise<{ default: C }>;
  });

export const TryScreen = part((code) => code.TryScreen);
export const BudgetsSection = part((code) => code.BudgetsSection);
export const HooksSection = part((code) => code.HooksSection);
export const LogSection = part((code) => code.LogSection);
export const TrustSection = part((code) => code.TrustSection);
export const ServersSection = part((code) => code.ServersSection);
export const CompareScreen = part((code) => code.CompareScreen);
export const DriveBar = part((code) => code.DriveBar);
export const AskDialog = part((code) => code.AskDialog);
export const ConflictDialog = part((code) => code.ConflictDialog);
export const SaveDialog = part((code) => code.SaveDialog);
export const KeysDialog = part((code) => code.KeysDialog);
export const ForkDialog = part((code) => code.ForkDialog);
export const NodeMenu = part((code) => code.NodeMenu);
export const StepStop = part((code) => code.StepStop);
export const ExpressionAid = part((code) => code.ExpressionAid);
export const ExpressionSource = part((code) => code.ExpressionSource);
export const PasskeyScreen = part((code) => code.PasskeyScreen);
export const CallCard = part((code) => code.CallCard);
export const RequestCard = part((code) => code.RequestCard);
export const loadEditor = () => later().then((code) => code.createPane);
export const loadPasskey = () => later().then((code) => code.confirmed);
