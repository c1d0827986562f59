import { lazy } from "react";

const later = () => import("./code");

export const TryScreen = lazy(() => later().then((code) => ({ default: code.TryScreen })));
export const BudgetsSection = lazy(() => later().then((code) => ({ default: code.BudgetsSection })));
export const ServersSection = lazy(() => later().then((code) => ({ default: code.ServersSection })));
export const DriveBar = lazy(() => later().then((code) => ({ default: code.DriveBar })));
export const StepStop = lazy(() => later().then((code) => ({ default: code.StepStop })));
export const ExpressionAid = lazy(() => later().then((code) => ({ default: code.ExpressionAid })));
export const ExpressionSource = lazy(() => later().then((code) => ({ default: code.ExpressionSource })));
export const PasskeyScreen = lazy(() => later().then((code) => ({ default: code.PasskeyScreen })));
export const loadEditor = () => later().then((code) => code.createPane);
export const loadPasskey = () => later().then((code) => code.confirmed);
