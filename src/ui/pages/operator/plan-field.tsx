/** The choice of a plan. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { paths } from '../../api/session-schema.d.ts'
import { SelectField } from '../../components/fields.tsx'
import { formatNumber } from '../../components/format.ts'
import { toWords } from '../../components/values.tsx'

type Plans = paths['/ui/api/operator/plans']['get']['responses'][200]['content']['application/json']

export function loadPlans(): Promise<Plans> {
  return unwrap(sessionApi.GET('/ui/api/operator/plans'))
}

export function PlanField({ plans: { data }, value }: { readonly plans: Plans; readonly value: string }): VNode {
  const options = data.map(({ name, limits }) => ({ value: name, label: `${name} (${describeLimits(limits)})` }))
  const known = data.some(({ name }) => name === value)
  const all = known ? options : [{ value, label: `${value} (not configured)` }, ...options]
  return (
    <SelectField name="plan" label="Plan" options={all} value={value} hint="Plans are defined in the configuration." />
  )
}

function describeLimits(limits: Readonly<Record<string, number>>): string {
  const shown = ['emails_per_month', 'emails_per_day', 'credits', 'requests_per_second']
  const parts = shown.flatMap((name) => {
    const limit = limits[name]
    return limit === undefined ? [] : [`${formatNumber(limit)} ${toWords(name).toLowerCase()}`]
  })
  return parts.length === 0 ? 'no limit' : parts.join(', ')
}
