/** Limits of verification codes that no test reaches by chance. */
import type { SendLimits } from '../../../src/workspaces/sms/send-limits.js'

export const ampleLimits: SendLimits = {
  per_phone_per_hour: 1000,
  per_phone_per_day: 1000,
  per_range_per_hour: 10_000,
  per_workspace_per_minute: 100_000,
  per_workspace_per_hour: 1_000_000,
  per_workspace_per_day: 1_000_000,
  min_verified_percent: 10,
}
