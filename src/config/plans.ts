/**
 * Plans: what a workspace may do in a span of time. Those of the interface are built in;
 * the file's replace those of the same name and add others.
 *
 * A limit that a plan does not name does not hold. "unlimited" is no table entry: it is
 * the plan without any limit, and nobody can redefine it.
 */
export const UNLIMITED = 'unlimited'

/** As in the file: see config/posthorn.toml for what each one counts. */
export interface PlanLimits {
  readonly requests_per_second?: number | undefined
  readonly burst?: number | undefined
  readonly requests_per_minute?: number | undefined
  readonly requests_per_day?: number | undefined
  readonly emails_per_day?: number | undefined
  readonly emails_per_month?: number | undefined
  readonly credits?: number | undefined
  /** Of mail from outside that is kept. */
  readonly inbound_bytes?: number | undefined
}

export type Plans = Readonly<Record<string, PlanLimits>>

export const builtInPlans: Plans = {
  free: { requests_per_second: 10, burst: 20, emails_per_month: 5_000 },
  pro: { requests_per_second: 100, burst: 200, emails_per_month: 50_000 },
  scale: { requests_per_second: 500, burst: 1_000, emails_per_month: 200_000 },
  standard: { requests_per_second: 10, requests_per_minute: 500, requests_per_day: 50_000 },
  high_volume: { requests_per_second: 50, requests_per_minute: 2_000, requests_per_day: 200_000 },
}

/** The limits of a plan; undefined: there is no such plan. */
export function limitsOfPlan(plans: Plans, name: string): PlanLimits | undefined {
  if (name === UNLIMITED) return {}
  return Object.hasOwn(plans, name) ? plans[name] : undefined
}
