/** A few choices side by side, one of which is chosen, such as the days of a plot. The address has the chosen one. */
import type { VNode } from 'preact'
import { useSearchParams } from 'wouter-preact'
import './choice-bar.css'

interface Choice {
  readonly value: string
  readonly label: string
}

interface ChoiceBarProps {
  /** The name of the choice, for screen readers. */
  readonly label: string
  readonly choices: readonly Choice[]
  readonly chosen: string
  readonly onChoose: (value: string) => void
}

export function ChoiceBar({ label, choices, chosen, onChoose }: ChoiceBarProps): VNode {
  return (
    <fieldset class="choice-bar">
      <legend class="visually-hidden">{label}</legend>
      {choices.map(({ value, label: text }) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {text}
        </button>
      ))}
    </fieldset>
  )
}

/**
 * The value of a parameter of the address, if it is one of the choices, or `otherwise`. Also returns a function that
 * changes it.
 */
export function useChoice(
  parameter: string,
  choices: readonly Choice[],
  otherwise: string,
): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams()
  const given = search.get(parameter)
  const chosen = choices.find(({ value }) => value === given)
  const choose = (value: string): void =>
    setSearch((before) => new URLSearchParams({ ...Object.fromEntries(before), [parameter]: value }), { replace: true })
  return [chosen?.value ?? otherwise, choose]
}
