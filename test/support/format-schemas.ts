export function formatProblems(_f: string, _v: unknown): string { return '' }
