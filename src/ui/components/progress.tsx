/** Shows the progress of a long piece of work. */
import type { VNode } from 'preact'
import { formatNumber } from './format.ts'
import { useUniqueId } from './unique-id.ts'

interface ProgressProps {
  readonly label: string
  readonly done: number
  /** Null means that it is not known yet. */
  readonly total: number | null
  readonly formatValue?: (value: number) => string
}

export function Progress({ label, done, total, formatValue = formatNumber }: ProgressProps): VNode {
  const id = useUniqueId()
  const numbers = total === null ? formatValue(done) : `${formatValue(done)} of ${formatValue(total)}`
  return (
    <div class="progress">
      <label for={id}>
        {label} <span class="soft">{numbers}</span>
      </label>
      <progress id={id} {...(total === null ? {} : { value: done, max: Math.max(total, 1) })} />
    </div>
  )
}
