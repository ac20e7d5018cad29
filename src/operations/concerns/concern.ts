/**
 * A *concern* is something that a person should repair, with its cure. The overview, the page of health and the mail of
 * the service say it in the same words. Pure.
 */

/** Worst first. `unanswered` is a check that found nothing out, so it says nothing about its subject. */
export const severities = ['bad', 'warn', 'unanswered'] as const
type Severity = (typeof severities)[number]

/** What is wrong in a line, and what it means and how to repair it in sentences. */
export interface Words {
  readonly title: string
  readonly text: string
}

export interface Concern extends Words {
  /** It is unique in a list. */
  readonly key: string
  readonly severity: Severity
  /** The page of the dashboard on which you repair it. */
  readonly link: { readonly href: string; readonly label: string } | null
  /** Texts to copy, each as a whole: commands, settings, DNS records. */
  readonly remedy: readonly string[]
  /** What else has this cause, each in a line. */
  readonly affected?: readonly string[]
}

/** Mail says times in UTC. For pages they are in ISO 8601, and the page shows them in the time zone of its reader. */
export type FormatTime = (at: number) => string

/** Worst first, and each key once. */
export function sortConcerns(concerns: readonly Concern[]): readonly Concern[] {
  const first = new Map(concerns.toReversed().map((concern) => [concern.key, concern]))
  return concerns
    .filter((concern) => first.get(concern.key) === concern)
    .toSorted((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity))
}
