/**
 * Plans: the limits of a workspace. Some are built in; plans of the file replace those of the same name.
 *
 * A plan has only the limits that it names. "unlimited" is the plan without limits; it is not in the table and
 * cannot be redefined.
 */
export const UNLIMITED = 'unlimited'

/** Names as in the file; config/posthorn.toml says what each limit counts. */
export interface PlanLimits {
  readonly requests_per_second?: number | undefined
  readonly burst?: number | undefined
  readonly requests_per_minute?: number | undefined
  readonly requests_per_day?: number | undefined
  readonly emails_per_day?: number | undefined
  readonly emails_per_month?: number | undefined
  readonly credits?: number | undefined
  /** The size of all stored inbound mail. */
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

/** Undefined if there is no such plan. */
export function limitsOfPlan(plans: Plans, name: string): PlanLimits | undefined {
  if (name === UNLIMITED) return {}
  return Object.hasOwn(plans, name) ? plans[name] : undefined
}
