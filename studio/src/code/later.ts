import { lazy } from "react";

const later = () => import("./code");

export const TryScreen = lazy(() => later().then((code) => ({ default: code.TryScreen })));
export const BudgetsSection = lazy(() => later().then((code) => ({ default: code.BudgetsSection })));
export const HooksSection = lazy(() => later().then((code) => ({ default: code.HooksSection })));
export const LogSection = lazy(() => later().then((code) => ({ default: code.LogSection })));
export const TrustSection = lazy(() => later().then((code) => ({ default: code.TrustSection })));
export const ServersSection = lazy(() => later().then((code) => ({ default: code.ServersSection })));
export const CompareScreen = lazy(() => later().then((code) => ({ default: code.CompareScreen })));
export const DriveBar = lazy(() => later().then((code) => ({ default: code.DriveBar })));
export const AskDialog = lazy(() => later().then((code) => ({ default: code.AskDialog })));
export const ConflictDialog = lazy(() => later().then((code) => ({ default: code.ConflictDialog })));
export const SaveDialog = lazy(() => later().then((code) => ({ default: code.SaveDialog })));
export const KeysDialog = lazy(() => later().then((code) => ({ default: code.KeysDialog })));
export const ForkDialog = lazy(() => later().then((code) => ({ default: code.ForkDialog })));
export const NodeMenu = lazy(() => later().then((code) => ({ default: code.NodeMenu })));
export const StepStop = lazy(() => later().then((code) => ({ default: code.StepStop })));
export const ExpressionAid = lazy(() => later().then((code) => ({ default: code.ExpressionAid })));
export const ExpressionSource = lazy(() => later().then((code) => ({ default: code.ExpressionSource })));
export const PasskeyScreen = lazy(() => later().then((code) => ({ default: code.PasskeyScreen })));
export const CallCard = lazy(() => later().then((code) => ({ default: code.CallCard })));
export const RequestCard = lazy(() => later().then((code) => ({ default: code.RequestCard })));
export const loadEditor = () => later().then((code) => code.createPane);
export const loadPasskey = () => later().then((code) => code.confirmed);
