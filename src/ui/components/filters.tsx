/**
 * Filters of a list. The address has their values, so that you can link a filtered list, and the browser's way back
 * leads to it.
 */
import type { ComponentChildren, VNode } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { Button, buttonClass } from './button.tsx'
import { Form, SubmitButton } from './form.tsx'
import { readText } from './form-values.ts'

interface FilterValues {
  /** Returns an empty text if the list is not filtered by that name. */
  readonly get: (name: string) => string
  readonly set: (values: Readonly<Record<string, string>>) => void
  readonly isFiltered: boolean
  /** The key of these filters for `usePages`. */
  readonly key: string
}

/** `names` are the parameters of the address that filter this list. */
export function useFilters(names: readonly string[]): FilterValues {
  const [search, setSearch] = useSearchParams()
  const get = (name: string): string => search.get(name) ?? ''
  const set = (values: Readonly<Record<string, string>>): void => {
    const next = new URLSearchParams(search)
    for (const [name, value] of Object.entries(values)) {
      if (value === '') next.delete(name)
      else next.set(name, value)
    }
    setSearch(next)
  }
  const values = names.map(get)
  return { get, set, isFiltered: values.some((value) => value !== ''), key: JSON.stringify(values) }
}

interface FiltersProps {
  readonly names: readonly string[]
  readonly filters: FilterValues
  /** TextField and SelectField with these names and the values of `filters`. */
  readonly children: ComponentChildren
}

/** Narrow screens show only a button with the number of filters, which opens them. */
export function Filters({ names, filters, children }: FiltersProps): VNode {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const element = useRef<HTMLElement>(null)
  const set = (values: Readonly<Record<string, string>>): void => {
    const name = document.activeElement?.getAttribute('name') ?? null
    filters.set(values)
    setOpen(false)
    // The fields are made anew with their values.
    setTimeout(() => focusAgain(element.current, name))
  }
  const used = names.filter((name) => filters.get(name) !== '').length
  const apply = async (values: FormData): Promise<void> => {
    set(Object.fromEntries(names.map((name) => [name, readText(values, name)])))
  }
  const clear = (): void => set(Object.fromEntries(names.map((name) => [name, ''])))
  return (
    <search ref={element} class={isOpen ? 'filters filters-open' : 'filters'}>
      <FilterToggle {...{ id, isOpen, used }} onToggle={() => setOpen(!isOpen)} />
      <div id={id} class="filters-form" key={filters.key}>
        <Form inline onSubmit={apply}>
          {children}
          <div class="filters-actions">
            <SubmitButton tone="plain">Filter</SubmitButton>
            {used === 0 ? null : (
              <Button tone="quiet" onClick={clear}>
                Clear
              </Button>
            )}
          </div>
        </Form>
      </div>
    </search>
  )
}

interface ToggleProps {
  /** The id of the fields. */
  readonly id: string
  readonly isOpen: boolean
  readonly used: number
  readonly onToggle: () => void
}

function FilterToggle({ id, isOpen, used, onToggle }: ToggleProps): VNode {
  return (
    <button
      type="button"
      class={`${buttonClass('plain')} filters-toggle`}
      aria-expanded={isOpen}
      aria-controls={id}
      onClick={onToggle}
    >
      Filters{used === 0 ? '' : ` (${used})`}
    </button>
  )
}

/**
 * Gives the focus to the field that had it. If it is not shown, or a button had it, the focus goes to the button that
 * opens the filters, or on wide screens to the one that applies them.
 */
function focusAgain(place: HTMLElement | null, name: string | null): void {
  const field = name === null ? null : `[name="${CSS.escape(name)}"]`
  const selectors = [...(field === null ? [] : [field]), '.filters-toggle', '[type="submit"]']
  const targets = selectors.map((selector) => place?.querySelector<HTMLElement>(selector))
  targets.find((target) => target?.checkVisibility() === true)?.focus()
}
