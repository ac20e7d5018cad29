/** Says how a file was read, and what its import will do. */
import type { VNode } from 'preact'
import { formatNumber } from '../../components/format.ts'
import { nameEncoding } from '../../components/text-encodings.ts'
import { Facts } from '../../components/values.tsx'
import type { Preview } from './import-file.ts'

export function describeFile({ total, encoding }: Preview): string {
  const cure = encoding === 'utf-8' ? '' : ': see below whether its letters are right'
  return `It has ${countLines(total)} with contacts, and is read as ${nameEncoding(encoding)}${cure}.`
}

export function ImportSummary({ preview }: { readonly preview: Preview }): VNode {
  const { total, checked, added, updated, unchanged, still_unsubscribed: left, left_out: leftOut, refused } = preview
  const counts: readonly (readonly [name: string, count: number])[] = [
    ['New contacts', added],
    ['Contacts to change', updated],
    ['Lines that change nothing', unchanged],
    ['Left out as you chose', leftOut],
    ['Refused', refused],
    ['Stay unsubscribed', left],
  ]
  return (
    <div class="import-counts">
      <p>
        {checked < total ? `The first ${countLines(checked)} were checked. ` : ''}
        Of {countLines(checked)}, the import will take {countTaken(preview)}.
      </p>
      <Facts facts={counts.map(([name, count]) => ({ name, value: formatNumber(count) }))} />
    </div>
  )
}

/** Lines that the import does not skip. */
function countTaken({ added, updated, unchanged }: Preview): string {
  return formatNumber(added + updated + unchanged)
}

/** Why there is nothing to import. Null if there is something. */
export function explainNothing({ problem, total, checked, added, updated, unchanged }: Preview): string | null {
  if (problem !== null) return 'You can import the file when its columns are clear.'
  if (checked < total || added + updated + unchanged > 0) return null
  return 'No line of the file can be imported.'
}

function countLines(count: number): string {
  return `${formatNumber(count)} ${count === 1 ? 'line' : 'lines'}`
}
