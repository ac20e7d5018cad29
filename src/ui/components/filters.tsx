/**
 * Filters of a list. The address has their values, so that you can link a filtered list, and the browser's way back
 * leads to it.
 */
import type { ComponentChildren, VNode } from 'preact'
import { useSearchParams } from 'wouter-preact'
import { Button } from './button.tsx'
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

export function Filters({ names, filters, children }: FiltersProps): VNode {
  const apply = async (values: FormData): Promise<void> => {
    filters.set(Object.fromEntries(names.map((name) => [name, readText(values, name)])))
  }
  const clear = (): void => filters.set(Object.fromEntries(names.map((name) => [name, ''])))
  return (
    <search class="filters" key={filters.key}>
      <Form inline onSubmit={apply}>
        {children}
        <div class="filters-actions">
          <SubmitButton tone="plain">Filter</SubmitButton>
          {names.some((name) => filters.get(name) !== '') ? (
            <Button tone="quiet" onClick={clear}>
              Clear
            </Button>
          ) : null}
        </div>
      </Form>
    </search>
  )
}
