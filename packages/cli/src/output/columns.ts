import type { Column } from './output.ts'

/** Columns that most tables share. */

export const idColumn: Column<{ readonly uid: string }> = {
  title: 'ID',
  kind: 'uid',
  value: ({ uid }) => uid,
}
export const nameColumn: Column<{ readonly name: string }> = {
  title: 'NAME',
  kind: 'name',
  value: ({ name }) => name,
}
export const descriptionColumn: Column<{ readonly description: string }> = {
  title: 'DESCRIPTION',
  value: ({ description }) => description,
}
export const createdColumn: Column<{ readonly createTime?: string }> = {
  title: 'CREATED',
  kind: 'time',
  value: ({ createTime = '' }) => createTime,
  wide: true,
}
