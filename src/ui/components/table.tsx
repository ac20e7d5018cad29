/** Tables, which become cards on narrow screens, and lists in pages. */
import type { ComponentChildren, VNode } from 'preact'
import type { ListPage, Pages } from '../api/use-pages.ts'
import { allowBreaks } from './allow-breaks.tsx'
import { Button } from './button.tsx'
import { Loaded } from './loaded.tsx'

export interface Column<Row> {
  readonly title: string
  readonly show: (row: Row) => ComponentChildren
  /** `number` is aligned to the right. `actions` has buttons and no visible title. */
  readonly kind?: 'text' | 'number' | 'actions'
  /** True if the server can sort by this column, where `sorting` is given. */
  readonly sortable?: boolean
  /** On narrow screens the value stands without its title, because it says itself what it is, such as a state. */
  readonly isPlain?: boolean
}

/** The order of a list. */
export interface Sorting {
  /** The title of the column that decides the order. */
  readonly by: string
  /** Without it, each sortable column has one direction, the one that people look for. */
  readonly direction?: 'ascending' | 'descending'
  readonly onSort: (title: string) => void
}

interface TableProps<Row> {
  /** What the rows are. Screen readers read it. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly showCaption?: boolean
  /** Without it, titles are not buttons. */
  readonly sorting?: Sorting | undefined
}

/** A cell without a value. Cards of narrow screens leave it out. */
const NOTHING = '–'

/** The first column names the row. */
export function Table<Row>({ caption, columns, rows, rowKey, showCaption = false, sorting }: TableProps<Row>): VNode {
  return (
    <table class="table">
      <caption class={showCaption ? undefined : 'visually-hidden'}>{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <Heading key={column.title} column={column} sorting={sorting} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map((column, at) => (
              <Cell key={column.title} column={column} row={row} first={at === 0} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface HeadingProps<Row> {
  readonly column: Column<Row>
  readonly sorting: Sorting | undefined
}

function Heading<Row>({ column: { title, kind, sortable = false }, sorting }: HeadingProps<Row>): VNode {
  const isSorted = sortable && sorting?.by === title
  const text = kind === 'actions' ? <span class="visually-hidden">{title}</span> : title
  return (
    <th scope="col" class={cellClass(kind)} aria-sort={isSorted ? (sorting.direction ?? 'other') : undefined}>
      {sortable && sorting !== undefined ? (
        <button
          type="button"
          class="sort-button"
          aria-label={`Sort by: ${title}`}
          onClick={() => sorting.onSort(title)}
        >
          {title}
          <span aria-hidden="true">{isSorted ? (sorting.direction === 'ascending' ? ' ▴' : ' ▾') : ' ▿'}</span>
        </button>
      ) : (
        text
      )}
    </th>
  )
}

interface CellProps<Row> {
  readonly column: Column<Row>
  readonly row: Row
  readonly first: boolean
}

function Cell<Row>({ column: { title, show, kind, isPlain = false }, row, first }: CellProps<Row>): VNode {
  if (first) {
    return (
      <th scope="row" class={cellClass(kind)}>
        {allowBreaks(show(row))}
      </th>
    )
  }
  const value = show(row)
  return (
    <td
      class={value === NOTHING ? `cell-none ${cellClass(kind) ?? ''}` : cellClass(kind)}
      data-title={kind === 'actions' || isPlain ? undefined : title}
    >
      <div class="cell">{allowBreaks(value)}</div>
    </td>
  )
}

function cellClass(kind: Column<unknown>['kind']): string | undefined {
  return kind === undefined || kind === 'text' ? undefined : `cell-${kind}`
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  /** The pages that `usePages` returns. */
  readonly pages: Pages<Row>
  /** What the page shows in place of a list without rows. */
  readonly empty: ComponentChildren
}

export function PagedTable<Row>({ pages, empty, ...table }: PagedTableProps<Row>): VNode {
  const showRows = ({ rows }: ListPage<Row>): ComponentChildren =>
    rows.length === 0 && pages.number === 1 ? empty : <Table {...table} rows={rows} />
  return (
    <>
      <Loaded from={pages}>{showRows}</Loaded>
      <Pager pages={pages} label={table.caption} />
    </>
  )
}

function Pager<Row>({ pages, label }: { readonly pages: Pages<Row>; readonly label: string }): VNode | null {
  const { number, showNext, showPrevious } = pages
  if (showNext === null && showPrevious === null) return null
  return (
    <nav class="pager" aria-label={`Pages of: ${label}`}>
      <Button small disabled={showPrevious === null} onClick={() => showPrevious?.()}>
        ‹ Previous
      </Button>
      <span class="pager-number">Page {number}</span>
      <Button small disabled={showNext === null} onClick={() => showNext?.()}>
        Next ›
      </Button>
    </nav>
  )
}
