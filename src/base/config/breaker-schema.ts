/** The settings of the circuit breaker, `limits.breaker`. */
import * as value from './values.js'

/** A weight has the form of a percentage: above 0, at most 100, with two decimals. */
const percent = value.weight

export const breakerSettings = {
  enabled: value.flag.prefault(true),
  bounce_warn_percent: percent.prefault(5),
  bounce_hold_percent: percent.prefault(10),
  complaint_warn_percent: percent.prefault(0.1),
  complaint_hold_percent: percent.prefault(0.3),
  min_messages: value.count(1, 1_000_000).prefault(100),
  min_bounces: value.count(1, 1_000_000).prefault(10),
  min_delivered: value.count(1, 1_000_000).prefault(1_000),
  min_complaints: value.count(1, 1_000_000).prefault(3),
}
