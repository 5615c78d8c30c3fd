-- an organization

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +? offset +?;
-- <root>, <root>, <root>0, 2, 0


-- an organization, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +? offset +?;
-- <root>, <root>/0000000000000001!, <root>0, 2, 0


-- an organization, downwards, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid desc
  limit +? offset +?;
-- <root>, <root>, <root>/0000000000000001, 2, 0


-- descendants of a group

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +? and start >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and start < (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?)) - (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) + (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef/, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef/, <root>/0123456789abcdef/, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0

select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +? offset +?;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, 2, 0


-- descendants of a group, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +? and start >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and start < (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?)) - (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) + (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef/, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef/, <root>/0123456789abcdef/, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0

select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +? offset +?;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, 2, 0


-- children of a group

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +? and start >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and start < (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?)) - (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) + (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef/, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef/, <root>/0123456789abcdef/, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0

-- in a reader thread on SQLite
select (select count(*)
  from groups
  where root = +? and uid >= +? and uid < +? and parent = +?) as n;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, <root>/0123456789abcdef

-- in a reader thread on SQLite
select *
  from groups indexed by groups_by_parent
  where root = +? and uid >= +? and uid < +? and parent = +?
  order by uid
  limit +? offset +?;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, <root>/0123456789abcdef, 2, 0


-- by name

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

-- in a reader thread on SQLite
select (select count(*)
  from groups
  where root = +? and uid >= +? and uid < +? and name = +?) as n;
-- <root>, <root>, <root>0, n

-- in a reader thread on SQLite
select *
  from groups indexed by groups_by_name
  where root = +? and uid >= +? and uid < +? and name = +?
  order by uid
  limit +? offset +?;
-- <root>, <root>, <root>0, n, 2, 0


-- by name, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

-- in a reader thread on SQLite
select *
  from groups indexed by groups_by_name
  where root = +? and uid >= +? and uid < +? and name = +?
  order by uid
  limit +? offset +?;
-- <root>, <root>/0000000000000001!, <root>0, n, 2, 0


-- ordered by name, downwards

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups indexed by groups_by_name
  where root = +? and uid >= +? and uid < +?
  order by name desc, uid
  limit +? offset +?;
-- <root>, <root>, <root>0, 2, 0


-- ordered by name, downwards, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups indexed by groups_by_name
  where root = +? and uid >= +? and uid < +? and (name <= +? and (name < +? or (uid > +?)))
  order by name desc, uid
  limit +? offset +?;
-- <root>, <root>, <root>0, name 1, name 1, <root>/0000000000000001, 2, 0


-- ordered by creation

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups indexed by groups_by_created
  where root = +? and uid >= +? and uid < +?
  order by created_ms, uid
  limit +? offset +?;
-- <root>, <root>, <root>0, 2, 0


-- ordered by creation, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups indexed by groups_by_created
  where root = +? and uid >= +? and uid < +? and (created_ms >= +? and (created_ms > +? or (uid > +?)))
  order by created_ms, uid
  limit +? offset +?;
-- <root>, <root>, <root>0, 1, 1, <root>/0000000000000001, 2, 0


-- ordered by name, among few

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups indexed by groups_by_name
  where root = +? and uid >= +? and uid < +?
  order by name, uid
  limit +? offset +?;
-- <root>, <root>, <root>0, 2, 0


-- a short skip

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +? offset +?;
-- <root>, <root>, <root>0, 2, 20


-- a deep skip

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select start, n
  from counts
  where root = +? and collection = +? and start > +? and start < +?
  order by root, start;
-- <root>, groups, <root>, <root>0

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +? and start < (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?)) + (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) as n;
-- <root>, groups, <root>, groups, <root>/1, <root>, <root>, groups, <root>/1, <root>/1

-- in a reader thread on SQLite
select groups.*
  from (select root, uid
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +? offset +?) as found
  join groups using (root, uid)
  order by found.root, found.uid;
-- <root>, <root>, <root>0, 2, 500000


-- a deep skip, downwards

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

select start, n
  from counts
  where root = +? and collection = +? and start > +? and start < +?
  order by root, start;
-- <root>, groups, <root>, <root>0

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +? and start >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?)) - (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) as n;
-- <root>, groups, <root>, groups, <root>/3, <root>, <root>, groups, <root>/3, <root>/3

-- in a reader thread on SQLite
select groups.*
  from (select root, uid
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid desc
  limit +? offset +?) as found
  join groups using (root, uid)
  order by found.root desc, found.uid desc;
-- <root>, <root>, <root>0, 2, 500000


-- a deep skip in the order of names

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups

-- in a reader thread on SQLite
select groups.*
  from (select root, uid, name
  from groups indexed by groups_by_name
  where root = +? and uid >= +? and uid < +?
  order by name desc, uid
  limit +? offset +?) as found
  join groups using (root, uid)
  order by found.name desc, found.root, found.uid;
-- <root>, <root>, <root>0, 2, 500000


-- two scopes

select (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +? and start >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and start < (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?)) - (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) + (select count(*)
  from groups
  where root = +? and uid >= (select max(start)
  from counts
  where root = +? and collection = +? and start <= +?) and uid < +?) + (select coalesce(sum(n), 0)
  from counts
  where root = +? and collection = +?) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef, <root>/0123456789abcdef, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0, <other>, groups

select *
  from (select *
  from (select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +?) as part
  union all select *
  from (select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +?) as part) as parts
  order by root, uid
  limit +? offset +?;
-- <root>, <root>/0123456789abcdef, <root>/0123456789abcdef0, 2, <other>, <other>, <other>0, 2, 2, 0


-- events of two folders of an organization

-- in a reader thread on SQLite
select (select count(*)
  from audit_events
  where root = +? and (substr(uid, 1, 57) in (select scope.value
  from json_each(+?) as scope)) is true) as n;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"]

-- in a reader thread on SQLite
select *
  from audit_events
  where root = +? and (substr(uid, 1, 57) in (select scope.value
  from json_each(+?) as scope)) is true
  order by id desc, uid
  limit +? offset +?;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], 2, 0


-- events of two folders of an organization, next page

-- in a reader thread on SQLite
select *
  from audit_events
  where root = +? and (substr(uid, 1, 57) in (select scope.value
  from json_each(+?) as scope)) is true and (id <= +? and (id < +? or (uid > +?)))
  order by id desc, uid
  limit +? offset +?;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], 1, 1, <root>/0000000000000001, 2, 0


-- events of folders of two organizations

-- in a reader thread on SQLite
select (select count(*)
  from audit_events
  where root = +? and (substr(uid, 1, 57) in (select scope.value
  from json_each(+?) as scope)) is true) + (select count(*)
  from audit_events
  where root = +? and uid >= +? and uid < +?) as n;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], <other>, <other>, <other>0

-- in a reader thread on SQLite
select *
  from (select *
  from (select *
  from audit_events
  where root = +? and (substr(uid, 1, 57) in (select scope.value
  from json_each(+?) as scope)) is true
  order by id desc, uid
  limit +?) as part
  union all select *
  from (select *
  from audit_events
  where root = +? and uid >= +? and uid < +?
  order by id desc, uid
  limit +?) as part) as parts
  order by id desc, root, uid
  limit +? offset +?;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], 2, <other>, <other>, <other>0, 2, 2, 0


-- more scopes than branchesMax: the first ones fill the page

select (select coalesce(sum(n), 0)
  from counts
  where collection = +? and root in (+?, +?)) as n;
-- groups, <root>, <other>

-- in a reader thread on SQLite
select (select count(*)
  from json_each(+?) as scope cross
  join groups as t on t.root = substr(scope.value, 1, 40) and t.uid >= scope.value and t.uid < scope.value || '0') as n;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef","<other>"]

select *
  from groups
  where root = +? and uid >= +? and uid < +?
  order by uid
  limit +? offset +?;
-- <root>, <root>/0123456789abcdef, <root>/0123456789abcdef0, 2, 0


-- more scopes than branchesMax, ordered by name

select (select coalesce(sum(n), 0)
  from counts
  where collection = +? and root in (+?, +?)) as n;
-- groups, <root>, <other>

-- in a reader thread on SQLite
select (select count(*)
  from json_each(+?) as scope cross
  join groups as t on t.root = substr(scope.value, 1, 40) and t.uid >= scope.value and t.uid < scope.value || '0') as n;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef","<other>"]

-- in a reader thread on SQLite
select *
  from groups
  where (root, uid) in (select t.root, t.uid
  from json_each(+?) as scope cross
  join groups as t on t.root = substr(scope.value, 1, 40) and t.uid >= scope.value and t.uid < scope.value || '0')
  order by name, uid
  limit +? offset +?;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef","<other>"], 2, 0


-- more scopes than branchesMax in one organization, ordered by name

select (select coalesce(sum(n), 0)
  from counts
  where collection = +? and root in (+?)) as n;
-- groups, <root>

-- in a reader thread on SQLite
select (select count(*)
  from json_each(+?) as scope cross
  join groups as t on t.root = +? and t.uid >= scope.value and t.uid < scope.value || '0') as n;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef"], <root>

-- in a reader thread on SQLite
select *
  from groups
  where root = +? and (root, uid) in (select t.root, t.uid
  from json_each(+?) as scope cross
  join groups as t on t.root = +? and t.uid >= scope.value and t.uid < scope.value || '0')
  order by name, uid
  limit +? offset +?;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], <root>, 2, 0


-- the whole platform

select (select coalesce(sum(n), 0)
  from counts
  where collection = +?) as n;
-- groups

select *
  from groups
  where 1 = 1
  order by root, uid
  limit +? offset +?;
-- 2, 0


-- the whole platform, next page

select (select coalesce(sum(n), 0)
  from counts
  where collection = +?) as n;
-- groups

select *
  from groups
  where (root, uid) >= (+?, +?)
  order by root, uid
  limit +? offset +?;
-- <root>, <root>/0000000000000001!, 2, 0
