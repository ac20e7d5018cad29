/** Shows which addresses of a file may not belong on a list, and lets the user leave them out. */
import type { VNode } from 'preact'
import { ChoicesField } from '../../components/fields.tsx'
import { formatNumber } from '../../components/format.ts'
import { Table } from '../../components/table.tsx'
import type { Hint, Preview } from './import-file.ts'

const hints = ['typo', 'disposable', 'role'] as const satisfies readonly Hint[]

const words: Readonly<Record<Hint, { readonly one: string; readonly many: string; readonly why: string }>> = {
  typo: {
    one: 'address with a misspelled domain',
    many: 'addresses with a misspelled domain',
    why: 'Mail to them bounces, or a trap gets it.',
  },
  disposable: {
    one: 'throw-away address',
    many: 'throw-away addresses',
    why: 'They exist for some minutes. Mail to them bounces later.',
  },
  role: {
    one: 'address of a function',
    many: 'addresses of a function',
    why: 'Several people read info@ or support@, and hardly one of them has asked for your mail.',
  },
}

/** Rows of the table. */
const MAX_ROWS = 20

function describeCount(hint: Hint, count: number): string {
  return `${formatNumber(count)} ${count === 1 ? words[hint].one : words[hint].many}`
}

interface HintChoicesProps {
  readonly preview: Preview
  readonly leaveOut: readonly Hint[]
  readonly onChange: (leaveOut: readonly Hint[]) => void
}

/** Offers the choices too if lines that were not checked may have such addresses. */
export function HintChoices({ preview, leaveOut, onChange }: HintChoicesProps): VNode | null {
  const { hinted, hints: lines, checked, total, problem } = preview
  const isPartial = problem === null && checked < total
  const offered = hints.filter((hint) => hinted[hint] > 0 || isPartial)
  if (offered.length === 0) return null
  return (
    <div class="import-hints">
      <ChoicesField
        name="leave_out"
        label="Leave out addresses that may not belong on a list"
        chosen={leaveOut}
        onChange={(value, isChosen) =>
          onChange(hints.filter((hint) => (hint === value ? isChosen : leaveOut.includes(hint))))
        }
        options={offered.map((hint) => ({
          value: hint,
          label: `${describeCount(hint, hinted[hint])}${isPartial ? ', so far' : ''}`,
          hint: words[hint].why,
        }))}
      />
      {lines.length === 0 ? null : <HintedLines lines={lines} />}
    </div>
  )
}

function HintedLines({ lines }: { readonly lines: Preview['hints'] }): VNode {
  return (
    <details class="more">
      <summary>Show these addresses</summary>
      <Table
        caption="Addresses that may not belong on a list"
        columns={[
          { title: 'Address', show: ({ email }) => email },
          { title: 'Line', show: ({ line }) => line },
          { title: 'Reason', isPlain: true, show: ({ hint }) => words[hint].one },
          { title: 'Perhaps', show: ({ suggestion }) => suggestion ?? '–' },
        ]}
        rows={lines.slice(0, MAX_ROWS)}
        rowKey={({ line, hint }) => `${line} ${hint}`}
      />
    </details>
  )
}
